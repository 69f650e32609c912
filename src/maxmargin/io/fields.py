"""The table of classes and fields of model files.

``[module]`` says where the classes below it live. ``Name Name: field kind; field kind`` lists the fields that
a fit adds to the arguments of their constructors, and arguments that are restricted to a kind; the others may
hold any value that a file can hold. ``+group`` stands for the fields of a group or class, and
``Name = Name Name`` is a kind that objects of any of these classes fit.

    field?                                    may be missing; the others must be there once a model is fitted
    .field                                    the attribute _field
    a|b                                       one kind or the other
    Certificate*                              a list or tuple of them
    none flag whole float text dict dtype random value      single values; float~ may be NaN or infinite
    real[n,p] int[n] bool[n] number[n]        arrays: sides of one name are equal within an object
    int[n]<k                                  whole numbers from 0 to k - 1
    =p                                        a whole number that is the side p
    label[k] name[p]                          distinct labels, distinct text
    dense[n,p] sparse[n,p] table[n] texts[n] cells[n]       rows
"""

FIELDS = """
Kernel = Linear Polynomial Sigmoid RBF Exponential Laplacian Periodic Constant QuadraticForm Rank1 Sum Product
  Scaled Power Exp Normalized Modulated Mapped Precomputed Function Subsequence Spectrum
Points = VectorPoints IndexedPoints CombinedPoints WeightedPoints StringPoints CountPoints
Map = NystromMap FourierMap
Bins = NumberBins CategoryBins

+columns: n_features_in_? =p; feature_names_in_? name[p]
+kernel: +columns; kernel? text|Kernel; kernel_ Kernel
+classes: classes_ label[k]

[maxmargin.problems.solution]
Status:
Solution: x real~[v]; multipliers real~[g]; status Status; n_iter whole; seconds float; gradient
  real~[h]|none; trace table|none; kernel_values whole; cache_hits whole
[maxmargin.problems.certificate]
Certificate: primal float~; dual float~; gap float~; relative_gap float~; kkt float~; infeasibility float~;
  rounding float~; backward_error float~|none; complete flag; convex flag; n_checked whole; n_machines whole
[maxmargin.problems.multiclass]
BinaryTask: rows int[n]<m; signs real[n]; positive whole; negative whole

[maxmargin.kernels]
Linear Polynomial Sigmoid RBF Exponential Laplacian Periodic Constant Sum Product Scaled Power Exp Normalized:
Precomputed Subsequence Spectrum:
QuadraticForm: B real[p,p]; .root? real[p,p]
Rank1 Modulated: f function
Mapped: h function
Function: function function
[maxmargin.kernels.points]
VectorPoints: X dense[n,p]|sparse[n,p]; norms real[n]; shift real[p]|none
IndexedPoints: matrix dense[n,m]; index int[n]<m
CombinedPoints: distinct Points*; which whole*
WeightedPoints: inner Points; factors real[n]
[maxmargin.kernels.tokens]
StringPoints: codes int[c]; starts int[s]; factors real[n]; vocabulary dict|none; precision value
[maxmargin.kernels.spectrum]
CountPoints: X sparse[n,c]; squares real[n]; vocabulary dict|none; columns dict; symbols whole*
[maxmargin.kernels.feature_maps]
NystromMap: kernel Kernel; landmarks Points; root real[m,q]; rows int[m]|none
MapError: trace float~; relative_trace float~; rms float~; n_rows whole; complete flag
[maxmargin.kernels.random_fourier]
FourierMap: kernel Kernel; atoms Kernel*; like Points*; exact_like Points; parts FourierPart*
FourierPart: scale float; atoms whole*; W real[p,m]*; phase float|none

[maxmargin.solvers]
QP Chunking Decomposition SMO WorkingSet BatchSubgradient StochasticSubgradient:
[maxmargin.solvers.online.online_loop]
OnlineState: v real[p]; z real[p]; rng random; scale float; mass float; b float; sum_b float; steps float;
  length2 float; longest float; eta float; passes whole
[maxmargin.solvers.least_squares.ridge_path]
RidgePath: alphas real[a]; coef real[a,p]; intercept real[a]; loo_residuals real~[n,a]; loo_mse real~[a]

[maxmargin.machines.svm.fitted_problem]
FittedProblem: rows int[n]; signs real[n]; alpha real[a]; beta real[n]; intercept float; decisions real~[n];
  bounded bool[a]; upper real~[a]; violations real~[a]; solution Solution; certificate Certificate; epsilon
  float|none; scale float
[maxmargin.machines.svm]
+svm: +kernel; support_ int[s]; dual_coef_ real[r,s]; intercept_ real[m]; n_support_ int[c];
  support_points_ Points; support_vectors_ dense[s,p]|sparse[s,p]|table[s]|texts[s]|cells[s]|dense[0,0];
  shape_fit_? whole*; machines_? FittedProblem*; n_iter_? whole|int[m]; certificate_? Certificate; trace_?
  table
+svc: +svm; +classes; class_codes_? int[n]<k; binary_tasks_? BinaryTask*; .calibrated?
  sklearn/CalibratedClassifierCV|none
SVC NuSVC HardMarginSVC: +svc
SVR NuSVR: +svm; solution_? Solution; epsilon_? float|none; offset_? real[m]
OneClassSVM SVDD: +svm; solution_? Solution; offset_ real[m]

[maxmargin.solvers.primal.separation]
Separation: kind text; direction real[q]|real[k,q]; columns bool[p]; is_limit flag
[maxmargin.machines.linear.squares_summary]
SquaresMoments: scatter real[p,p]; means real[p]; residual_sum float; total_sum float; weight float
[maxmargin.machines.linear]
+linear: +columns; certificate_? Certificate; certificates_? Certificate*; solutions_? Solution*; solution_?
  Solution
+planes: +linear; +classes; coef_ real[m,p]; intercept_ real[m]; n_iter_ whole|int[i]
+plane: +linear; coef_ real[p]|real[t,p]; intercept_ float|real[t]; n_iter_? whole
LogisticRegression: +planes; separation_ Separation|none; .information? real[j,j]|none; .null_log_likelihood?
  float~; .n_observations? float; .history? value; history_? table; dropped_? text*; .dropped? bool[p]
LinearSVC: +planes
LinearSVR: +plane
LeastSquares: +plane; .moments? SquaresMoments|none; solver_? text; rank_? whole; history_?
  table; trace_? table
Ridge: +plane; solver_? text; trace_? table; path_? RidgePath|none; paths_? RidgePath*;
  alpha_? float|real[t]; history_?
  table
FisherDiscriminant: +columns; certificate_? Certificate; +classes; xbar_ real[p]; eigenvalues_ real[q]; axes_
  real[p,q]; explained_ratio_ real[q]; centroids_ real[k,q]; cut_points_ real[c]; .n_features_out =q;
  priors_? real[k]; shrinkage_? float

[maxmargin.machines.online]
+online: +planes; .states OnlineState*; .rows value; .last_mistakes int[m]; .scales real[m]; .logs? table*;
  .start_lengths? real[m]; bound_note_? text; n_errors_? number~[m]; rho_? real~[m]; trace_? table; .counts?
  real[m]; .heaviest? real[m]; .rho? real[m]; n_mistakes_? int[m]; R_? float; margin_? real~[m]; bound_?
  float~|real~[m]; converged_? flag; stopped_? text; objective_? real[m]
Perceptron PassiveAggressive Pegasos SubgradientDescent: +online

[maxmargin.machines.kernel.kernel_perceptron]
PerceptronPast: rows dense[s,p]|sparse[s,p]|table[s]|texts[s]|cells[s]|none; positions int[s]; n_seen whole;
  sums real[m,s]; timed real[m,s]; born real[m,s]; times real[m]
[maxmargin.machines.kernel]
KernelPerceptron: +kernel; +classes; .points Points; dual_coef_ real[m,s]; support_ int[s];
  intercept_ real[m]; .past PerceptronPast; .last_mistakes? value; n_errors_? number~[m]; certificates_?
  Certificate*; certificate_? Certificate; .history value; n_mistakes_ int[m]; n_iter_ whole; converged_?
  flag; stopped_? text; trace_? table
KernelRidge: +kernel; .points Points; dual_coef_ real[n]|real[n,t]; path_? RidgePath; paths_?
  RidgePath*; alpha_ float|real[t];  certificate_? Certificate; certificates_? Certificate*

[maxmargin.machines.large.approximation]
Approximation: map MapError; exact_gap float~; exact_gap_error float~; relative float~
[maxmargin.machines.large.cell_svc]
Cell: machines SVC*|float*|value
[maxmargin.machines.large]
+large: +kernel; map_ Map; n_components_ =q; certificate_? Certificate;
  low_rank_certificate_? Certificate; approximation_? Approximation|none; n_iter_? whole|int[i]
LargeSVC: +large; +classes; coef_ real[m,q]; intercept_ real[m]; exact_ SVC|none; solutions_? Solution*;
  certificates_? Certificate*
LargeSVR: +large; coef_ real[q]; intercept_ float; exact_ SVR|none; solution_? Solution
LargeKernelRidge: +large; coef_ real[q]; dual_coef_ real[n]|none; .points? Points
LowRank: +large; error_? MapError; landmark_indices_? int[l]|none
RandomFourier: +large; error_? MapError
CellSVC: +kernel; +classes; centres_ real[c,p]; sizes_ int[c]; cells_ Cell*; certificate_?
  Certificate|none

[maxmargin.tuning]
TuneResult: table table; folds real~[c,f]; params dict*; measure text; path text; seconds float;
  best_estimator value; interrupted flag; notes text*
GridSearch RandomSearch: +columns; result_ TuneResult; best_index_? whole; best_params_? dict; cv_results_
  dict; best_score_? float~; n_splits_ whole; multimetric_ flag; refit_time_? float; best_estimator_? value

[maxmargin.discretize]
MDLDiscretizer: +columns; cuts_ value; n_bins_ int[p]
[maxmargin.scorecards.bins]
NumberBins: name text; specials value; edges real[e]
CategoryBins: name text; specials value; groups value
[maxmargin.scorecards]
Binning: +columns; bins_ Bins*; counts_ real[a,b]*|value; classes_ label[2]; event_ value; totals_ float*
WOEEncoder: +columns; binning_ Binning
IVSelector: min_iv float~; max_iv float~; +columns; binning_ Binning; iv_ real[p]; table_ table
Scorecard: +columns; encoder_ WOEEncoder; binning_ Binning; classes_ label[2]; dropped_ table; .used whole*;
  variables_ text*; estimator_ value; certificate_ Certificate|none; coef_ real[u]; intercept_ float; factor_
  float; offset_ float; .contributions value; .bin_points value; base_points_ float; points_ table; notes_
  text*

[maxmargin.feature_selection]
CFSMerit Custom Mahalanobis Bhattacharyya Divergence CrossValidatedError LeaveOneOutError:
Exhaustive BranchAndBound Forward Backward Floating BestFirst Genetic SimulatedAnnealing:
+selector: +columns; support_ bool[p]; history_ table; ranking_? int[p]
FisherScore InformationGain SymmetricalUncertainty: +selector; scores_ real~[p]
Relief ReliefF SURF MultiSURF: +selector; scores_ real~[p]; instances_? int[i]
TuRF: +selector; scores_ real~[p]
RFE RFECV: +selector; n_features_ whole; estimator_ value; cv_results_? dict; errors_? value;
  .on_threads? flag
SparseSVMSelector: +selector; lambdas_ real[l]; n_iter_ whole; coef_path_ real[l,j]; lambda_ float; coef_
  real[m,p]
SequentialFeatureSelector: +selector; interrupted_ flag; seconds_ float; score_ float~; n_evaluations_ whole;
  path_ table; n_features_to_select_ whole
SFS SBS SubsetSelector: +selector; interrupted_ flag; seconds_ float; score_ float~; n_evaluations_ whole;
  path_ table

[sklearn.model_selection]
sklearn/KFold sklearn/StratifiedKFold sklearn/GroupKFold sklearn/RepeatedKFold
  sklearn/RepeatedStratifiedKFold:
sklearn/LeaveOneOut sklearn/ShuffleSplit sklearn/StratifiedShuffleSplit sklearn/TimeSeriesSplit:
[sklearn.pipeline]
sklearn/Pipeline: memory? none
[sklearn.compose]
sklearn/make_column_selector:
sklearn/ColumnTransformer: verbose_feature_names_out? flag;
  +columns; transformers_ value; .columns value; .transformer_to_input_indices dict;
  .remainder value; sparse_output_ flag; output_indices_ dict; .n_features? whole;
  .name_to_fitted_passthrough? dict; .transformers_feature_names_out? value
[sklearn.preprocessing]
sklearn/StandardScaler: +columns; mean_ real[p]|none; var_ real[p]|none; scale_ real[p]|none; n_samples_seen_
  whole|float|int[p]|real[p]
sklearn/MinMaxScaler: +columns; scale_ real[p]; min_ real[p]; data_min_ real[p]; data_max_ real[p];
  data_range_ real[p]; n_samples_seen_ whole
sklearn/MaxAbsScaler: +columns; scale_ real[p]; max_abs_ real[p]; n_samples_seen_ whole
sklearn/RobustScaler: +columns; center_ real[p]|none; scale_ real[p]|none
sklearn/FunctionTransformer: func none; inverse_func none; +columns
sklearn/OneHotEncoder: dtype dtype; +columns; categories_ value; drop_idx_ value;
  .drop_idx_after_grouping value; .n_features_outs whole*; .infrequent_enabled flag;
  .infrequent_indices? value; .default_to_infrequent_mappings? value
sklearn/OrdinalEncoder: dtype dtype; +columns; categories_ value; .infrequent_enabled flag;
  .missing_indices dict
[sklearn.feature_extraction.text]
sklearn/TfidfVectorizer: input? text;
  dtype dtype; tokenizer none; preprocessor none; analyzer text; vocabulary none;
  stop_words none; token_pattern text; vocabulary_ dict; fixed_vocabulary_ flag;
  .tfidf sklearn/TfidfTransformer; .stop_words_id? whole
sklearn/TfidfTransformer: +columns; idf_ real[p]
[sklearn.impute]
sklearn/SimpleImputer: +columns; statistics_ number~[p]|value; indicator_ none; .fit_dtype value; .fill_dtype
  value
[sklearn.calibration]
sklearn/CalibratedClassifierCV: +columns; +classes; calibrated_classifiers_ sklearn/.CalibratedClassifier*
sklearn/.CalibratedClassifier: estimator value; calibrators sklearn/.SigmoidCalibration*; classes label[k];
  method text
sklearn/.SigmoidCalibration: a_ float; b_ float
[sklearn.linear_model]
sklearn/LogisticRegression: +columns; +classes; coef_ real[m,p]; intercept_ real[m]; n_iter_ int[i]
"""
